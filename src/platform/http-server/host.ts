import type { IncomingMessage } from 'node:http';

const name = String.raw`[a-z0-9](?:[a-z0-9._-]*[a-z0-9.])?`;
const authority = new RegExp(String.raw`^(?:${name}|\[[0-9a-f:.]+\])(?::\d{1,5})?$`, 'i');
const LONGEST_HOST = 260;

/** The request has to name its host in one way: a single Host line with a name or an address. */
export function namesOneHost({ rawHeaders, headers: { host }, httpVersion }: IncomingMessage): boolean {
  // HTTP/1.0 may leave it out.
  if (host === undefined) return httpVersion === '1.0';
  return host.length <= LONGEST_HOST && authority.test(host) && !isNamedTwice(rawHeaders);
}

/**
 * Makes a whole address in the target, as proxies may send it, the path that every part of the service expects. Its
 * host then counts, and the Host line does not (RFC 9112, 3.2.2).
 */
export function toOriginForm(request: IncomingMessage): void {
  const { url = '/' } = request;
  if (url.startsWith('/') || !URL.canParse(url)) return;
  const { pathname, search, host } = new URL(url);
  request.url = pathname + search;
  request.headers.host = host;
}

/** Node keeps the first of several Host lines and says nothing of the others. */
function isNamedTwice(rawHeaders: readonly string[]): boolean {
  let lines = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const line = rawHeaders[at]!;
    if (line.length === 4 && line.toLowerCase() === 'host') lines += 1;
  }
  return lines > 1;
}
