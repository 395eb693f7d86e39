import type { MailPort } from '#extension';
import { MINUTE_MS, monotonicMs } from '../../kernel';
import type { Mailer } from '../../platform';

const MOST_A_MINUTE = 60;
const LONGEST_TEXT = 100_000;

/** A loop in an extension must neither fill the queue nor make a mail server refuse what the service sends. */
export function mailPort(mailer: Pick<Mailer, 'send'>): MailPort {
  let begunMs = -Infinity;
  let sent = 0;
  return {
    async send({ to, subject, text }) {
      for (const [name, value] of Object.entries({ to, subject, text }))
        if (typeof value !== 'string') throw new TypeError(`${name} of a mail is no text`);
      if (text.length > LONGEST_TEXT)
        throw new RangeError(
          `the text of a mail has more than ${LONGEST_TEXT.toLocaleString('en')} characters`,
        );
      const now = monotonicMs();
      if (now - begunMs >= MINUTE_MS) [begunMs, sent] = [now, 0];
      if (sent >= MOST_A_MINUTE)
        throw new Error(`an extension may send ${MOST_A_MINUTE} mails a minute; try again later`);
      sent += 1;
      await mailer.send({ to, subject, text });
    },
  };
}
