import type { IncomingMessage } from 'node:http';

const hostName = String.raw`[a-z0-9](?:[a-z0-9._-]*[a-z0-9.])?`;
const authority = new RegExp(String.raw`^(?:${hostName}|\[[0-9a-f:.]+\])(?::\d{1,5})?$`, 'i');
const MAX_HOST_LENGTH = 260;

/** The request has to name its host unambiguously: a single Host line with a name or an address. */
export function namesOneHost({ rawHeaders, headers: { host }, httpVersion }: IncomingMessage): boolean {
  // HTTP/1.0 allows omitting the Host line.
  if (host === undefined) return httpVersion === '1.0';
  return host.length <= MAX_HOST_LENGTH && authority.test(host) && !hasSeveralHostLines(rawHeaders);
}

/**
 * Converts an absolute target, as proxies can send it, to the path that the service expects. Its host then overrides
 * the Host line (RFC 9112, 3.2.2).
 */
export function toOriginForm(request: IncomingMessage): void {
  const { url = '/' } = request;
  if (url.startsWith('/') || !URL.canParse(url)) return;
  const { pathname, search, host } = new URL(url);
  request.url = pathname + search;
  request.headers.host = host;
}

/** Node keeps the first of several Host lines and silently ignores the others. */
function hasSeveralHostLines(rawHeaders: readonly string[]): boolean {
  let lines = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const line = rawHeaders[at]!;
    if (line.length === 4 && line.toLowerCase() === 'host') lines += 1;
  }
  return lines > 1;
}
