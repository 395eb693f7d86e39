// Asks the browser for a passkey, and sends its answer with the form: pages show refusals in the reader's language.
const { browserSupportsWebAuthn, startAuthentication, startRegistration } = window.SimpleWebAuthnBrowser;

/** At the door the question is fetched, so that it is fresh; in the settings the page brings it along. */
async function optionsOf({ dataset }) {
  if (dataset.passkey === 'create') return JSON.parse(dataset.options);
  const answer = await fetch(dataset.options, {
    method: 'POST',
    headers: { accept: 'application/json', 'content-type': 'application/json' },
    body: '{}',
  });
  if (!answer.ok) throw new Error(`${dataset.options} answers ${answer.status}`);
  return (await answer.json()).options;
}

function messageOf(error, { cancelled, failed, held }) {
  if (error.name === 'InvalidStateError') return held;
  return error.name === 'NotAllowedError' || error.name === 'AbortError' ? cancelled : failed;
}

function tell(form, text) {
  const message = form.querySelector('[data-passkey-message]');
  message.textContent = text;
  message.hidden = text === '';
}

async function ask(event) {
  event.preventDefault();
  const form = event.currentTarget;
  const button = form.querySelector('button');
  const start = form.dataset.passkey === 'create' ? startRegistration : startAuthentication;
  tell(form, '');
  button.disabled = true;
  try {
    const optionsJSON = await optionsOf(form);
    form.elements.credential.value = JSON.stringify(await start({ optionsJSON }));
    // Sends it without this listener.
    form.submit();
  } catch (error) {
    tell(form, messageOf(error, form.dataset));
  } finally {
    button.disabled = false;
  }
}

for (const form of document.querySelectorAll('form[data-passkey]')) {
  form.hidden = false;
  form.nextElementSibling.hidden = true;
  form.addEventListener('submit', ask);
  if (browserSupportsWebAuthn()) continue;
  form.querySelector('button').disabled = true;
  tell(form, form.dataset.unsupported);
}
