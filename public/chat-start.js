/* The page before a conversation: the first message streams into the page of a new one. Without scripts the form posts. */
const form = document.querySelector('#chat-start');
const message = document.querySelector('#chat-message');

async function begin() {
  const { model, content } = Object.fromEntries(new FormData(form));
  const response = await fetch('/api/conversations', {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify({ model }),
  });
  if (!response.ok) throw new Error(`refused: ${response.status}`);
  const { id } = await response.json();
  const page = `/dashboard/webchat/${id}`;
  await window.firstMessage.keep(page, { content, attachments: await window.chatFiles.read() });
  location.assign(page);
}

form?.addEventListener('submit', (event) => {
  event.preventDefault();
  form.querySelector('button').disabled = true;
  // The service says as a page what was wrong.
  begin().catch(() => form.submit());
});
message?.addEventListener('keydown', (event) => {
  if (event.key !== 'Enter' || event.isComposing || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  form.requestSubmit();
});
message?.focus();

const picker = document.querySelector('#chat-model');
const offerPictures = () =>
  window.chatFiles.offer(form.dataset.takesImages.split('\n').includes(picker.value));
picker?.addEventListener('change', offerPictures);
if (form !== null) offerPictures();
