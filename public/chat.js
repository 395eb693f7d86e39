/*
 * The page of a conversation, which works without it: answers are streamed and shown as Markdown. What a model writes is
 * never trusted: raw HTML stays text, and only what is listed below is shown.
 */
const find = (selector, within = document) => within.querySelector(selector);
const composer = find('#chat-composer');
const log = find('#chat-log');
const words = composer.dataset;
const input = find('#chat-message');
const stopButton = find('#chat-stop');
const sendButton = find('#chat-send');
const latest = find('#chat-latest');

const escaped = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
const escape = (text) => text.replace(/[&<>"']/g, (character) => escaped[character]);
const markdown = new window.marked.Marked({ gfm: true, breaks: true });
markdown.use({
  renderer: {
    html: ({ text }) => escape(text),
    image: ({ text, href }) => escape(`${text} (${href})`),
    // What a model wants ticked is no control of this page.
    checkbox: ({ checked }) => (checked ? '☑ ' : '☐ '),
  },
});
const allowed = {
  ALLOWED_TAGS: [
    ...['p', 'br', 'strong', 'em', 'del', 'code', 'pre', 'blockquote', 'ul', 'ol', 'li', 'hr', 'a'],
    ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'table', 'thead', 'tbody', 'tr', 'th', 'td'],
  ],
  ALLOWED_ATTR: ['href', 'class', 'start'],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  RETURN_DOM_FRAGMENT: true,
};

/** A link shows where it leads; other schemes are text. */
function tameLink(link) {
  const address = link.getAttribute('href') ?? '';
  const target = URL.canParse(address) ? new URL(address) : null;
  if (target === null || !['https:', 'mailto:'].includes(target.protocol)) {
    link.replaceWith(...link.childNodes);
    return;
  }
  link.rel = 'noopener noreferrer nofollow';
  link.target = '_blank';
  link.removeAttribute('class');
  const place = target.protocol === 'https:' ? target.host : target.pathname;
  if (!link.textContent.includes(place)) link.append(` (${place})`);
}

/** Headings of an answer lie below those of the page. */
function lowerHeading(heading) {
  const lower = document.createElement('p');
  lower.className = 'said-heading';
  lower.append(...heading.childNodes);
  heading.replaceWith(lower);
}

function frameCode(pre) {
  const language = /language-([\w+#.-]{1,30})/.exec(find('code', pre)?.className ?? '')?.[1] ?? words.code;
  const frame = document.createElement('div');
  frame.className = 'snippet';
  const label = document.createElement('p');
  label.className = 'snippet-language';
  label.textContent = language;
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'button-icon';
  button.dataset.copy = pre.textContent;
  button.setAttribute('aria-label', words.copyCode);
  button.append(copyIcon.cloneNode(true));
  pre.replaceWith(frame);
  pre.tabIndex = 0;
  pre.setAttribute('role', 'group');
  pre.setAttribute('aria-label', language);
  frame.append(label, button, pre);
}

const copyIcon = find('[data-copy-said] svg', find('#chat-answer').content);

function scrollTables(table) {
  const region = document.createElement('div');
  region.className = 'said-table';
  region.tabIndex = 0;
  region.setAttribute('role', 'group');
  region.setAttribute('aria-label', words.table);
  table.replaceWith(region);
  region.append(table);
}

function rendered(text) {
  const fragment = window.DOMPurify.sanitize(markdown.parse(text), allowed);
  fragment.querySelectorAll('a').forEach(tameLink);
  fragment.querySelectorAll('h1, h2, h3, h4, h5, h6').forEach(lowerHeading);
  fragment.querySelectorAll('pre').forEach(frameCode);
  fragment.querySelectorAll('table').forEach(scrollTables);
  fragment.querySelectorAll(':not(pre) > code, p, li, td, th').forEach((part) => {
    if (!['said-heading', 'snippet-language'].includes(part.className)) part.removeAttribute('class');
  });
  return fragment;
}

function show(message, text) {
  const said = find('[data-said]', message);
  said.classList.toggle('is-rendered', text !== '');
  said.replaceChildren(rendered(text));
  const copy = find('[data-copy-said]', message);
  copy.dataset.copy = text;
  copy.hidden = text === '';
}

for (const message of log.querySelectorAll('.message'))
  show(message, find('[data-said]', message).textContent);

const NEAR = 120;
const atEnd = () => window.innerHeight + window.scrollY >= document.documentElement.scrollHeight - NEAR;
const toEnd = () => window.scrollTo({ top: document.documentElement.scrollHeight });
let follows = true;
document.addEventListener('scroll', () => {
  follows = atEnd();
  if (follows) latest.hidden = true;
});
latest.addEventListener('click', () => {
  follows = true;
  latest.hidden = true;
  toEnd();
  input.focus();
});
const grown = () => (follows ? toEnd() : (latest.hidden = false));
const announce = (text) => {
  const announcer = find('#announcer');
  announcer.textContent = '';
  requestAnimationFrame(() => (announcer.textContent = text));
};

const RENDER_MS = 80;
const WAIT_MS = 10_000;
let running = null;

/** Draws at most every 80 ms, in an animation frame. */
function painter(message) {
  let text = '';
  let due = false;
  let last = 0;
  const paint = () => {
    due = false;
    last = performance.now();
    show(message, text);
    grown();
  };
  return {
    add(piece) {
      text += piece;
      if (due) return;
      due = true;
      setTimeout(() => requestAnimationFrame(paint), Math.max(0, RENDER_MS - (performance.now() - last)));
    },
    finish: paint,
  };
}

function bubble(template, text) {
  const message = find(template).content.cloneNode(true).firstElementChild;
  message.removeAttribute('id');
  log.append(message);
  if (text !== '') show(message, text);
  return message;
}

function setBadge(message, tone, label) {
  find('.badge', message)?.remove();
  if (label === undefined) return;
  const badge = document.createElement('span');
  badge.className = `badge badge-${tone}`;
  badge.textContent = label;
  find('.message-author', message).append(' ', badge);
}

/** A copyable value of an alert; what is not known is not shown. */
function fillValue(part, value) {
  if (!value) return part?.remove();
  const button = find('button', part);
  find('code', part).textContent = value;
  button.dataset.copy = value;
  button.setAttribute(
    'aria-label',
    button.getAttribute('aria-label').replace('%', () => value),
  );
}

/** What went wrong is told by the service, beside what models say. */
function alertOf({ title, text, next, code, requestId }, id) {
  const alert = find('#chat-alert').content.cloneNode(true).firstElementChild;
  if (id) alert.id = id;
  find('[data-title]', alert).textContent = title;
  find('[data-text]', alert).textContent = text;
  if (next) find('[data-next]', alert).textContent = next;
  else find('[data-next]', alert).remove();
  fillValue(find('[data-code]', alert), code);
  fillValue(find('[data-request]', alert), requestId);
  return alert;
}

/** Where nothing was said, the alert stands in place of the answer. */
function tell(message, alert) {
  const isSaid = find('[data-copy-said]', message).dataset.copy !== '';
  if (!isSaid) return message.replaceWith(alertOf(alert, message.id));
  message.after(alertOf(alert, message.id.replace('message', 'alert')));
}

function setNote(message, text) {
  find('.message-note', message)?.remove();
  if (!text) return;
  const note = document.createElement('p');
  note.className = 'message-note';
  note.textContent = text;
  find('.message-foot', message).before(note);
}

function setRoute(message, { supplier, region, failover }) {
  find('.route', message)?.remove();
  const route = document.createElement('span');
  route.className = 'route';
  const hop = document.createElement('span');
  hop.className = 'hop hop-served';
  const outcome = document.createElement('span');
  outcome.className = 'visually-hidden';
  outcome.textContent = `${words.served} `;
  hop.append(outcome, supplier);
  for (const [name, text] of [
    ['hop-region', region],
    ['hop-reason', failover ? words.moved : null],
  ]) {
    if (!text) continue;
    const part = document.createElement('span');
    part.className = name;
    part.textContent = ` ${text}`;
    hop.append(part);
  }
  route.append(hop);
  find('.message-foot', message).prepend(route);
}

function setFacts(message, facts) {
  const copy = find('[data-copy-said]', message);
  for (const fact of facts) {
    const part = document.createElement('span');
    part.textContent = fact;
    copy.before(part);
  }
}

/** The events of the answer; one may come in pieces. */
async function* eventsOf(body) {
  let rest = '';
  for await (const piece of body.pipeThrough(new TextDecoderStream())) {
    const blocks = (rest + piece).split('\n\n');
    rest = blocks.pop();
    for (const block of blocks) {
      const event = /^event: (.*)$/m.exec(block)?.[1];
      const data = /^data: (.*)$/m.exec(block)?.[1];
      if (event && data) yield { event, data: JSON.parse(data) };
    }
  }
}

function offerThumbs(message) {
  const thumbs = find('[data-thumbs]', message);
  const id = /^message-(\d+)$/.exec(message.id)?.[1];
  if (thumbs === null || id === undefined) return;
  find('[name=message]', thumbs).value = id;
  thumbs.hidden = false;
}

function isBusy(busy) {
  log.setAttribute('aria-busy', String(busy));
  stopButton.hidden = !busy;
  sendButton.hidden = busy;
  find('#chat-retry')?.toggleAttribute('hidden', true);
}

async function take(turn, message, signal) {
  const painting = painter(message);
  const waiting = setTimeout(() => setNote(message, words.waiting), WAIT_MS);
  const heard = () => {
    clearTimeout(waiting);
    setNote(message, null);
  };
  let ended = null;
  try {
    const response = await fetch(composer.action, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
      body: JSON.stringify({ ...turn, stream: true }),
      signal,
    });
    const kept = response.headers.get('x-svc-message-id');
    if (kept !== null) {
      message.id = `message-${kept}`;
      void window.firstMessage.forget().catch(() => undefined);
    }
    if (!response.ok) throw await refusalOf(response);
    const handlers = {
      route: (route) => setRoute(message, route),
      text: ({ text }) => {
        heard();
        painting.add(text);
      },
      end: (end) => (ended = end),
    };
    for await (const { event, data } of eventsOf(response.body)) handlers[event]?.(data);
  } finally {
    heard();
    painting.finish();
  }
  return ended;
}

/** In the reader's language; browsers tell their own errors in theirs. */
class Told extends Error {
  constructor(text, facts = {}) {
    super(text);
    this.facts = facts;
  }
}

async function refusalOf(response) {
  const said = await response.json().catch(() => ({}));
  const next = find('#chat-alert').dataset[String(said.action_class).toLowerCase()];
  const { local_message: text = words.failed, code, request_id: requestId } = said;
  return new Told(text, { next, code, requestId });
}

function finish(message, { state, shown }) {
  find('[data-author]', message).textContent = shown.author;
  message.setAttribute('aria-label', shown.author);
  if (state !== 'failed') offerThumbs(message);
  if (shown.title !== null) setTitle(shown.title);
  setBadge(message, shown.badge?.tone, shown.badge?.label);
  setFacts(message, shown.facts);
  find('#chat-total').textContent = shown.total;
  if (shown.alert !== null) tell(message, shown.alert);
}

/** The first words of a conversation name it. */
function setTitle(title) {
  find('#chat-title').textContent = title;
  document.title = document.title.replace(/^.*?(?= · |$)/, () => title);
  const link = find('.chat-list [aria-current]');
  if (link !== null) link.textContent = title;
}

/** The record, with the choice of auto, follows the answer. */
async function showWhy(message) {
  for (let tries = 0; tries < 4 && message.isConnected && find('.message-why', message) === null; tries += 1)
    message = await reloadMessage(message);
}

/** The page shows what a stopped answer cost. */
async function reloadMessage(message) {
  await new Promise((resolve) => setTimeout(resolve, 400));
  const response = await fetch(location.pathname, { headers: { accept: 'text/html' } });
  const page = new DOMParser().parseFromString(await response.text(), 'text/html');
  const kept = message.id ? page.getElementById(message.id) : [...page.querySelectorAll('.message')].at(-1);
  find('#chat-total').textContent = find('#chat-total', page)?.textContent ?? '';
  if (!kept) return message;
  const text = find('[data-said]', kept).textContent;
  message.replaceWith(kept);
  show(kept, text);
  return kept;
}

/** The turn that the service has not taken: sent again as it is, it stays the same one. */
let untaken = null;

function giveBack(question, turn) {
  question?.remove();
  untaken = turn;
  input.value = [turn.content, input.value].filter((text) => text !== '').join('\n');
  window.chatFiles.restore(turn.attachments);
}

/** The alert is read out by itself. */
function fail(message, error, turn, question) {
  const said = error instanceof Told ? { text: error.message, ...error.facts } : { text: words.failed };
  const titles = find('#chat-alert').dataset;
  const isTaken = message.id !== '' || !question;
  const isSaid = find('[data-copy-said]', message).dataset.copy !== '';
  setBadge(message, 'warn', words.incomplete);
  tell(message, { ...said, title: isTaken ? titles[isSaid ? 'incomplete' : 'failed'] : titles.unsent });
  if (!isTaken) giveBack(question, turn);
}

async function send(turn, question) {
  running = new AbortController();
  const { signal } = running;
  isBusy(true);
  const message = bubble('#chat-answer', '');
  setBadge(message, 'info', words.writing);
  follows = true;
  toEnd();
  try {
    const ended = await take(turn, message, signal);
    if (ended === null) throw new Told(words.failed);
    finish(message, ended);
    if (words.model === 'auto' && message.isConnected) void showWhy(message).catch(() => undefined);
    if (ended.shown.alert === null) announce(words.complete);
  } catch (error) {
    if (signal.aborted) {
      setBadge(message, 'warn', words.incomplete);
      await reloadMessage(message).catch(() => undefined);
      announce(words.incomplete);
    } else fail(message, error, turn, question);
  }
  running = null;
  isBusy(false);
  // What was not taken is sent from the field; "Ask again" would ask what was taken before.
  if (untaken !== turn) offerRetry();
  grown();
}

function offerRetry() {
  let form = find('#chat-retry');
  if (form === null) {
    form = document.createElement('form');
    form.id = 'chat-retry';
    form.className = 'chat-retry';
    const button = document.createElement('button');
    button.className = 'button';
    button.textContent = words.retry;
    form.append(button);
    form.addEventListener('submit', retry);
    composer.before(form);
  }
  form.hidden = false;
}

function retry(event) {
  event.preventDefault();
  if (running === null) void send({ turn: window.newTurn(), retry: true });
}

log.addEventListener('submit', async (event) => {
  const form = event.target.closest('[data-thumbs]');
  if (form === null) return;
  event.preventDefault();
  const body = { message: find('[name=message]', form).value, verdict: event.submitter.value };
  const response = await fetch(form.action, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify(body),
  }).catch(() => null);
  if (!response?.ok) return announce(words.failed);
  const { verdict } = await response.json();
  for (const thumb of form.querySelectorAll('[data-thumb]')) {
    const isGiven = thumb.dataset.thumb === verdict;
    thumb.setAttribute('aria-pressed', String(isGiven));
    thumb.value = isGiven ? 'none' : thumb.dataset.thumb;
  }
});

const modelForm = find('#chat-model-form');
const picker = find('#chat-model');
find('#chat-model-change').hidden = true;
picker.addEventListener('change', async () => {
  const response = await fetch(modelForm.action, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify({ model: picker.value }),
  }).catch(() => null);
  // The page as the service has it says what was wrong.
  if (!response?.ok) return modelForm.requestSubmit();
  const { model, takes_images: takesImages } = await response.json();
  words.waiting = words.waiting.replace(words.model, model);
  words.model = model;
  window.chatFiles.offer(takesImages);
  const template = find('#chat-answer').content;
  find('[data-author]', template).textContent = model;
  find('.message', template).setAttribute('aria-label', model);
  const text = modelForm.dataset.changed.replace('%', model);
  const last = log.lastElementChild;
  if (last?.className === 'chat-divider') last.textContent = text;
  else if (last !== null) {
    const divider = document.createElement('p');
    divider.className = 'chat-divider';
    divider.textContent = text;
    log.append(divider);
  }
  announce(text);
});

composer.addEventListener('submit', async (event) => {
  event.preventDefault();
  if (running !== null) return;
  const content = input.value;
  const attachments = await window.chatFiles.read();
  await ask(content, attachments);
});

const isSame = (one, other) => JSON.stringify(one) === JSON.stringify(other);

async function ask(content, attachments, turn = window.newTurn()) {
  if (content.trim() === '' && attachments.length === 0) return;
  find('.chat-hint')?.remove();
  // Messages that were not sent are no part of the conversation.
  log.querySelectorAll('.chat-alert:not([id])').forEach((alert) => alert.remove());
  const question = bubble('#chat-question', content);
  if (attachments.length > 0) setNote(question, attachments.map(({ name }) => name).join(', '));
  input.value = '';
  window.chatFiles.clear();
  input.focus();
  const message = { content, attachments };
  const again = untaken !== null && isSame(message, { ...untaken, turn: undefined });
  const id = again ? untaken.turn : turn;
  untaken = null;
  await send({ ...message, turn: id }, question);
}
find('#chat-retry')?.addEventListener('submit', retry);
const stop = () => running?.abort();
stopButton.addEventListener('click', () => {
  stop();
  input.focus();
});
document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape' && running !== null && !find('dialog[open]')) stop();
});

const enterSends = find('#chat-enter input');
enterSends.checked = localStorage.getItem('chat-enter-sends') === 'yes';
enterSends.addEventListener('change', () =>
  localStorage.setItem('chat-enter-sends', enterSends.checked ? 'yes' : 'no'),
);
input.addEventListener('keydown', (event) => {
  if (event.key !== 'Enter' || event.isComposing) return;
  const isChord = event.ctrlKey || event.metaKey;
  if (!isChord && (event.shiftKey || !enterSends.checked)) return;
  event.preventDefault();
  composer.requestSubmit();
});
find('#chat-enter').hidden = false;
window.chatFiles.offer(composer.hasAttribute('data-takes-images'));
if (location.hash === '') toEnd();

/* From the page before this conversation. */
const first = await window.firstMessage.take(location.pathname).catch(() => undefined);
const { content = '', attachments = [], turn, wasSent = false } = first ?? {};
// It may have cost something by now: sending it again is for the reader to decide.
if (wasSent) giveBack(null, { content, attachments, turn });
else await ask(content, attachments, turn);
