import { sendRaw, type RawAnswer } from './raw-exchange';

/** Base URL of the service and session cookie of the user. */
interface PageSender {
  readonly url: string;
  readonly cookie: string;
}

const send = ({ url, cookie }: PageSender, path: string, accept: string, type: string, body: string) =>
  sendRaw(url, {
    method: 'POST',
    path,
    headers: { cookie, accept, 'content-type': type, 'sec-fetch-site': 'same-origin' },
    body,
  });

export const openPage = ({ url, cookie }: PageSender, path: string): Promise<RawAnswer> =>
  sendRaw(url, { path, headers: { cookie, accept: 'text/html' } });

/** Submits a form of a page as a browser does. */
export const submitForm = (
  sender: PageSender,
  path: string,
  fields: Readonly<Record<string, string>> | [string, string][] | URLSearchParams,
): Promise<RawAnswer> =>
  send(
    sender,
    path,
    'text/html',
    'application/x-www-form-urlencoded',
    new URLSearchParams(fields).toString(),
  );

/** Sends JSON as the script of a page does. */
export async function sendJson<Json = Record<string, unknown>>(
  sender: PageSender,
  path: string,
  body: object,
): Promise<RawAnswer & { readonly json: Json }> {
  const answer = await send(sender, path, 'application/json', 'application/json', JSON.stringify(body));
  return { ...answer, json: JSON.parse(answer.body) as Json };
}
