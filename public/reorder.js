/** A dragged row takes the place of the one it is dropped on. */
let dragged = null;
document.addEventListener(
  'dragstart',
  ({ target }) => (dragged = target.closest?.('[data-reorder]') ?? null),
);
document.addEventListener('dragover', (event) => {
  const row = event.target.closest?.('[data-reorder]');
  if (!dragged || !row || row === dragged || row.parentElement !== dragged.parentElement) return;
  event.preventDefault();
  const { top, height } = row.getBoundingClientRect();
  row[event.clientY < top + height / 2 ? 'before' : 'after'](dragged);
});
document.addEventListener('drop', (event) => dragged && event.preventDefault());
document.addEventListener('dragend', async () => {
  if (!dragged) return;
  const order = [...dragged.parentElement.querySelectorAll('[data-reorder]')].map(
    (row) => row.dataset.reorder,
  );
  dragged = null;
  const answer = await fetch('/dashboard/admin/models/reorder', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ order }),
  }).catch(() => undefined);
  if (!answer?.ok) location.reload();
});
