/* Pictures that go with a message, and the first message on its way to the page of its conversation. */
const PICTURE_BYTES = 4_000_000;
const MOST_PICTURES = 4;
const message = document.querySelector('#chat-message');
const pictures = document.querySelector('#chat-pictures');
const names = document.querySelector('#chat-file-names');

async function base64(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  return window.btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
}

function told(text = Array.from(pictures.files, ({ name }) => name).join(', ')) {
  names.textContent = text;
  message.required = pictures.files.length === 0;
}

pictures?.addEventListener('change', () => {
  const files = [...pictures.files];
  if (files.length <= MOST_PICTURES && files.every(({ size }) => size <= PICTURE_BYTES)) return told();
  pictures.value = '';
  told(pictures.dataset.tooLarge);
});

window.chatPictures = {
  read: () =>
    Promise.all(
      Array.from(pictures.files, async (file) => ({
        name: file.name,
        type: file.type,
        data: await base64(file),
      })),
    ),
  clear() {
    pictures.value = '';
    told();
  },
  restore(attachments) {
    const files = new window.DataTransfer();
    for (const { name, type, data } of attachments) {
      const bytes = Uint8Array.from(window.atob(data), (character) => character.charCodeAt(0));
      files.items.add(new window.File([bytes], name, { type }));
    }
    pictures.files = files.files;
    told();
  },
  offer(isTaken) {
    document.querySelector('#chat-files').hidden = !isTaken;
    if (!isTaken) window.chatPictures.clear();
  },
};

/** Also where the page came over plain http, which has no `randomUUID`. */
window.newTurn = () => {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const text = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return text.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
};

/* Session storage is too small for pictures. */

const settled = (request) =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

async function firstMessages() {
  const opening = window.indexedDB.open('chat', 1);
  opening.onupgradeneeded = () => opening.result.createObjectStore('first');
  return (await settled(opening)).transaction('first', 'readwrite').objectStore('first');
}

window.firstMessage = {
  async keep(page, message) {
    const kept = await firstMessages();
    kept.clear();
    kept.put({ ...message, turn: window.newTurn() }, page);
    await new Promise((resolve) => (kept.transaction.oncomplete = resolve));
  },
  /** It stays until the service has taken it. */
  async take(page) {
    const kept = await firstMessages();
    const message = await settled(kept.get(page));
    if (message !== undefined) kept.put({ ...message, wasSent: true }, page);
    return message;
  },
  async forget() {
    (await firstMessages()).clear();
  },
};
