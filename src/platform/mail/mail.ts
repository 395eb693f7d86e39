/** A mail as it waits in the queue. */
export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html?: string;
  /** Of two mails with the same id only the first is sent. */
  readonly id?: string;
}

/** It is one address and nothing else: no list, no name, no header. */
export const mailAddress = /^[^\s@<>"(),;:\\]+@[^\s@<>"(),;:\\]+$/;

/** Refuses line breaks in headers: a text of a user must not begin a header. */
export function assertMail({ to, subject }: Mail): void {
  if (!mailAddress.test(to) || to.length > 254) throw new RangeError('not a mail address');
  if (/\p{Cc}/u.test(subject) || subject.length > 200) throw new RangeError('not a subject of one line');
}
