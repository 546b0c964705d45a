"""Part simulate: days of a site with faults and noise, judged as they would be."""
