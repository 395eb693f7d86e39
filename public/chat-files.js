/* Files that go with a message, and the first message on its way to the page of its conversation. */
const PICTURE_BYTES = 4_000_000;
const TEXT_BYTES = 500_000;
const MOST_FILES = 4;
const pictureTypes = ['image/png', 'image/jpeg', 'image/webp', 'image/gif'];
const message = document.querySelector('#chat-message');
const field = document.querySelector('#chat-files');
const chooser = document.querySelector('#chat-file');
const chips = document.querySelector('#chat-chips');
const note = document.querySelector('#chat-file-note');

/** As the service takes them: name, type and base64. */
let files = [];
let takesPictures = false;
let reading = Promise.resolve();

const base64 = (bytes) => window.btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
const isPicture = ({ type }) => pictureTypes.includes(type);
const told = (key, name) => (note.textContent = field.dataset[key].replace('%', name));

function isText(bytes) {
  try {
    return !new TextDecoder('utf-8', { fatal: true }).decode(bytes).includes('\0');
  } catch {
    return false;
  }
}

function chipOf(file) {
  const chip = document.createElement('li');
  const button = document.createElement('button');
  chip.append(file.name, button);
  button.type = 'button';
  button.className = 'button-icon';
  button.setAttribute('aria-label', field.dataset.remove.replace('%', file.name));
  button.append(document.querySelector('#chat-chip').content.cloneNode(true));
  button.addEventListener('click', () => {
    note.textContent = '';
    show(files.filter((other) => other !== file));
    message.focus();
  });
  return chip;
}

function show(kept) {
  files = kept;
  chips.hidden = files.length === 0;
  chips.replaceChildren(...files.map(chipOf));
  message.required = files.length === 0;
}

/** What a file becomes, or the key of the text that says why it is not taken. */
async function read(file) {
  if (isPicture(file) && !takesPictures) return 'noPictures';
  if (file.size > PICTURE_BYTES) return 'tooLarge';
  const bytes = await file.arrayBuffer().then(
    (buffer) => new Uint8Array(buffer),
    () => null,
  );
  // A folder cannot be read.
  if (bytes === null) return 'notTaken';
  const { name } = file;
  if (isPicture(file)) return { name, type: file.type, data: base64(bytes) };
  if (!isText(bytes)) return 'notTaken';
  return bytes.length > TEXT_BYTES ? 'textTooLarge' : { name, type: 'text/plain', data: base64(bytes) };
}

/** One after the other, in the order in which they were chosen. */
function add(chosen) {
  reading = reading.then(() => take(chosen));
  return reading;
}

async function take(chosen) {
  note.textContent = '';
  for (const file of chosen) {
    const taken = await read(file);
    if (typeof taken === 'string') told(taken, file.name);
    else if (files.length >= MOST_FILES) told('tooMany', file.name);
    else show([...files, taken]);
  }
}

chooser?.addEventListener('change', async () => {
  await add([...chooser.files]);
  chooser.value = '';
});

/* A file that is dropped beside the message would else take the place of the page. */
const hasFiles = ({ dataTransfer }) => dataTransfer?.types.includes('Files') === true;
if (field !== null) {
  document.addEventListener('dragover', (event) => {
    if (hasFiles(event)) event.preventDefault();
  });
  document.addEventListener('drop', (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    void add([...event.dataTransfer.files]);
    message.focus();
  });
  message.addEventListener('paste', (event) => {
    const { clipboardData } = event;
    // Copied words may bring a picture of themselves along.
    if (!hasFiles({ dataTransfer: clipboardData }) || clipboardData.types.includes('text/plain')) return;
    event.preventDefault();
    void add([...clipboardData.files]);
  });
}

window.chatFiles = {
  async read() {
    await reading;
    return files;
  },
  clear() {
    note.textContent = '';
    show([]);
  },
  restore: (attachments) => show(attachments),
  /** Text files go to every model; pictures do not. */
  offer(isTaken) {
    takesPictures = isTaken;
    field.hidden = false;
    const picture = isTaken ? undefined : files.find(isPicture);
    if (picture === undefined) return;
    show(files.filter((file) => !isPicture(file)));
    told('noPictures', picture.name);
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
