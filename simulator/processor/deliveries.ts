import { setTimeout as delay } from 'node:timers/promises';
import type { AccountStore, SentEvent } from './account-store';
import { signatureHeader } from './processor-simulator';

const MAX_ATTEMPTS = 8;
const FIRST_PAUSE_MS = 500;
const DEADLINE_MS = 20_000;

/** Delivers events to the endpoints subscribed to them, retrying until they are accepted. */
export function deliverAll(account: AccountStore, secret: string): void {
  account.onEvent = (event) => {
    account.events.length = 0;
    for (const { url, enabled_events: enabledEvents } of account.endpoints) {
      const types = enabledEvents as readonly string[];
      if (types.includes(event.type) || types.includes('*')) void deliverEvent(String(url), event, secret);
    }
  };
}

async function deliverEvent(url: string, { text }: SentEvent, secret: string): Promise<void> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    if (attempt > 0) await delay(FIRST_PAUSE_MS * 2 ** attempt);
    const status = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'stripe-signature': signatureHeader(text, secret) },
      body: text,
      signal: AbortSignal.timeout(DEADLINE_MS),
    }).then(
      (answer) => answer.status,
      () => 0,
    );
    if (status >= 200 && status < 300) return;
  }
}
