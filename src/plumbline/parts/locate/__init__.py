"""From measurements of every layer to the components that explain the slow ones."""
