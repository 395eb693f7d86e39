import { setTimeout as delay } from 'node:timers/promises';
import type { AccountBooks, SentEvent } from './books';
import { signature } from './processor-simulator';

const MOST_ATTEMPTS = 8;
const FIRST_PAUSE_MS = 500;
const DEADLINE_MS = 20_000;

/** Brings events to the endpoints that ask for them, again until they are taken. */
export function deliverAll(account: AccountBooks, secret: string): void {
  account.onEvent = (event) => {
    account.events.length = 0;
    for (const { url, enabled_events: wanted } of account.endpoints) {
      const types = wanted as readonly string[];
      if (types.includes(event.type) || types.includes('*')) void bring(String(url), event, secret);
    }
  };
}

async function bring(url: string, { text }: SentEvent, secret: string): Promise<void> {
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt += 1) {
    if (attempt > 0) await delay(FIRST_PAUSE_MS * 2 ** attempt);
    const status = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'stripe-signature': signature(text, secret) },
      body: text,
      signal: AbortSignal.timeout(DEADLINE_MS),
    }).then(
      (answer) => answer.status,
      () => 0,
    );
    if (status >= 200 && status < 300) return;
  }
}
