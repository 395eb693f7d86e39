/* Charts are read point by point. Listeners are the document's, so that swapped parts need no wiring. */
document.addEventListener('pointermove', ({ target, clientX }) => {
  if (!(target instanceof Element) || !target.matches('.chart-scrub')) return;
  const { left, width } = target.getBoundingClientRect();
  const points = Number(target.max) + 1;
  target.value = Math.min(points - 1, Math.max(0, Math.floor(((clientX - left) / width) * points)));
  showPoint(target);
});

function showPoint(scrub) {
  const chart = scrub.closest('[data-chart]');
  const readouts = JSON.parse(scrub.dataset.readouts);
  const text = readouts[scrub.value];
  const width = 1000 / readouts.length;
  const cursor = chart.querySelector('[data-chart-cursor]');
  cursor.setAttribute('x', scrub.value * width);
  cursor.setAttribute('width', width);
  scrub.setAttribute('aria-valuetext', text);
  chart.querySelector('[data-chart-readout]').textContent = text;
}

document.addEventListener('input', ({ target }) => {
  if (target.matches('.chart-scrub')) showPoint(target);
});

/** Without this file there is nothing to move. */
function offerScrubs() {
  for (const scrub of document.querySelectorAll('.chart-scrub')) {
    scrub.hidden = false;
    scrub.setAttribute('aria-valuetext', JSON.parse(scrub.dataset.readouts)[scrub.value]);
  }
}
document.addEventListener('htmx:after:swap', offerScrubs);
offerScrubs();
