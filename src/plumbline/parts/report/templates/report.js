"use strict";
// Draws the figures of the page: those in sight at once, the others when the browser has time.
(() => {
  const root = document.documentElement;
  const plots = JSON.parse(document.getElementById("plots").textContent);
  const places = [...document.querySelectorAll(".plot")];
  const live = document.getElementById("live");
  // What a page of A4 holds of one picture with its title.
  const PRINTED_PX = 680;
  const PRINTED_HIGH_PX = 880;
  // Plotly names a point at most every 50 ms.
  const HOVER_MS = 60;

  const colour = (name) => getComputedStyle(root).getPropertyValue(name).trim();

  // What depends on the theme; everything else is in the figures.
  const themed = (layout) => {
    const [paper, ink, grid] = ["--paper", "--ink", "--grid"].map(colour);
    const axis = {
      gridcolor: grid, zerolinecolor: grid, linecolor: ink, tickcolor: grid,
      exponentformat: "none", separatethousands: true,
    };
    const made = {
      ...layout,
      paper_bgcolor: paper,
      plot_bgcolor: paper,
      font: { color: ink, family: "system-ui, sans-serif", size: 13 },
      hoverlabel: { bgcolor: paper, bordercolor: ink, font: { color: ink }, namelength: -1 },
      legend: { orientation: "h", yanchor: "bottom", y: 1.01, ...layout.legend },
      margin: { t: 40, r: 20, b: 50, l: 70, ...layout.margin },
      annotations: (layout.annotations || []).map((one) => ({ arrowcolor: ink, ...one })),
    };
    for (const name of ["xaxis", "xaxis2", "yaxis"]) {
      if (layout[name]) made[name] = { ...axis, automargin: true, ...layout[name] };
    }
    return made;
  };

  // A thin edge in the colour of the text: a dot is seen on a band of its own colour too.
  const edged = (trace) =>
    trace.mode === "markers" && !trace.marker.symbol.endsWith("-open")
      ? { ...trace, marker: { ...trace.marker, line: { color: colour("--ink"), width: 0.6 } } }
      : trace;

  const draw = (place) => {
    const { data, layout } = plots[place.id];
    const options = { responsive: true, displaylogo: false };
    return Plotly.react(place, data.map(edged), themed(layout), options);
  };

  const drawn = new Set();
  const first = (place) => {
    if (drawn.has(place)) return;
    drawn.add(place);
    draw(place);
    if (drawn.size === places.length) root.dataset.drawn = "all";
  };

  const idle = window.requestIdleCallback || ((then) => setTimeout(then, 20));
  const rest = () => {
    const next = places.find((place) => !drawn.has(place));
    if (!next) return;
    first(next);
    idle(rest);
  };

  // --- themes

  const redraw = () => drawn.forEach(draw);
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : dark.matches);
  document.getElementById("theme").addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    redraw();
  });
  dark.addEventListener("change", redraw);

  let before;
  window.addEventListener("beforeprint", () => {
    before = root.dataset.theme;
    root.dataset.theme = "light";
    places.forEach(first);
    for (const place of places) {
      const height = Math.min(place.clientHeight, PRINTED_HIGH_PX);
      place.style.maxHeight = `${PRINTED_HIGH_PX}px`;
      Plotly.relayout(place, { ...themed(plots[place.id].layout), width: PRINTED_PX, height });
    }
  });
  window.addEventListener("afterprint", () => {
    if (before) root.dataset.theme = before;
    else delete root.dataset.theme;
    for (const place of places) {
      place.style.maxHeight = "";
      Plotly.relayout(place, { width: null, height: null });
    }
    redraw();
  });

  // --- the keyboard: from point to point, in an image without points from cell to cell

  const cells = (trace, curveNumber) =>
    trace.z.flatMap((row, down) =>
      row.flatMap((value, right) => (value === null ? [] : [{ curveNumber, xval: right, yval: down }]))
    );
  const points = (place) => {
    const { data } = plots[place.id];
    const found = data.flatMap((trace, curveNumber) =>
      trace.type === "heatmap" || trace.hoverinfo === "skip"
        ? []
        : trace.y.flatMap((value, pointNumber) =>
            value === null || trace.x[pointNumber] === null ? [] : [{ curveNumber, pointNumber }]
          )
    );
    return found.length ? found : data.flatMap((trace, number) => (trace.z ? cells(trace, number) : []));
  };
  const step = (place, by) => {
    const all = points(place);
    if (!all.length) return;
    const at = ((Number(place.dataset.point ?? (by > 0 ? -1 : 0)) + by) % all.length + all.length) % all.length;
    place.dataset.point = at;
    const { xaxis = "x", yaxis = "y" } = plots[place.id].data[all[at].curveNumber];
    Plotly.Fx.hover(place, [all[at]], xaxis + yaxis);
    setTimeout(() => say(place), HOVER_MS);
  };
  // What is seen beside the point is what a screen reader says.
  const say = (place) => {
    const lines = [...place.querySelectorAll(".hoverlayer text")].flatMap((text) => {
      const found = [...text.querySelectorAll("tspan.line")];
      return (found.length ? found : [text]).map((one) => one.textContent);
    });
    live.textContent = lines.filter(Boolean).join(", ");
  };
  const leave = (place) => {
    if (drawn.has(place)) Plotly.Fx.unhover(place);
  };
  for (const place of places) {
    place.addEventListener("keydown", (event) => {
      if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
        event.preventDefault();
        first(place);
        step(place, event.key === "ArrowRight" ? 1 : -1);
      } else if (event.key === "Escape") {
        leave(place);
      }
    });
    place.addEventListener("blur", () => leave(place));
  }

  // --- places that Nagios leads to lie in tables that are closed

  const reach = () => {
    const target = document.getElementById(location.hash.slice(1));
    if (!target) return;
    for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    target.scrollIntoView({ block: "center" });
  };
  window.addEventListener("hashchange", reach);

  if (!places.length) root.dataset.drawn = "all";
  const seen = new IntersectionObserver(
    (entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => first(entry.target)),
    { rootMargin: "300px" }
  );
  places.forEach((place) => seen.observe(place));
  idle(rest);
  reach();
})();
