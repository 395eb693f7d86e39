export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html?: string;
  /** Only the first of several emails with the same id is sent. */
  readonly id?: string;
}

/** Exactly one address: no list, no name, no header. */
export const mailAddress = /^[^\s@<>"(),;:\\]+@[^\s@<>"(),;:\\]+$/;

/** Rejects line breaks in headers: a user's text must not start a header. */
export function assertMail({ to, subject }: Mail): void {
  if (!mailAddress.test(to) || to.length > 254) throw new RangeError('not a mail address');
  if (/\p{Cc}/u.test(subject) || subject.length > 200) throw new RangeError('not a subject of one line');
}
