import { ask, type RawAnswer } from './raw-exchange';

/** The service is at this address, and the browser has this person's session. */
interface Sender {
  readonly url: string;
  readonly cookie: string;
}

const send = ({ url, cookie }: Sender, path: string, accept: string, type: string, body: string) =>
  ask(url, {
    method: 'POST',
    path,
    headers: { cookie, accept, 'content-type': type, 'sec-fetch-site': 'same-origin' },
    body,
  });

export const openPage = ({ url, cookie }: Sender, path: string): Promise<RawAnswer> =>
  ask(url, { path, headers: { cookie, accept: 'text/html' } });

/** As a browser sends a form of a page. */
export const submitForm = (
  sender: Sender,
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

/** As a script of a page sends it. */
export async function sendJson<Json = Record<string, unknown>>(
  sender: Sender,
  path: string,
  body: object,
): Promise<RawAnswer & { readonly json: Json }> {
  const answer = await send(sender, path, 'application/json', 'application/json', JSON.stringify(body));
  return { ...answer, json: JSON.parse(answer.body) as Json };
}
