import type { MailPort } from '#extension';
import { MINUTE_MS, monotonicMs } from '../../kernel';
import type { Mailer } from '../../platform';

const MAX_MAILS_PER_MINUTE = 60;
const MAX_TEXT_LENGTH = 100_000;

/** Limits the rate: a loop in an extension must not fill the queue, nor get the service blocked by its mail server. */
export function createMailPort(mailer: Pick<Mailer, 'send'>): MailPort {
  let windowStartMs = -Infinity;
  let sent = 0;
  return {
    async send({ to, subject, text }) {
      for (const [name, value] of Object.entries({ to, subject, text }))
        if (typeof value !== 'string') throw new TypeError(`${name} of a mail is no text`);
      if (text.length > MAX_TEXT_LENGTH)
        throw new RangeError(
          `the text of a mail has more than ${MAX_TEXT_LENGTH.toLocaleString('en')} characters`,
        );
      const now = monotonicMs();
      if (now - windowStartMs >= MINUTE_MS) [windowStartMs, sent] = [now, 0];
      if (sent >= MAX_MAILS_PER_MINUTE)
        throw new Error(`an extension may send ${MAX_MAILS_PER_MINUTE} mails a minute; try again later`);
      sent += 1;
      await mailer.send({ to, subject, text });
    },
  };
}
