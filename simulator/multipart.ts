export interface MultipartPart {
  readonly name: string;
  readonly fileName?: string;
  readonly bytes: Buffer;
}

/** Parses multipart/form-data with fields and files in any order; returns undefined if malformed. */
export function parseMultipart(body: Buffer, contentType: string | undefined): MultipartPart[] | undefined {
  const boundary = /^multipart\/form-data\s*;.*?boundary=(?:"([^"]+)"|([^\s;]+))/i.exec(contentType ?? '');
  if (boundary === null) return undefined;
  const marker = Buffer.from(`--${boundary[1] ?? boundary[2] ?? ''}`);
  const parts: MultipartPart[] = [];
  let start = body.indexOf(marker);
  while (start >= 0) {
    const head = start + marker.length;
    if (body.toString('latin1', head, head + 2) === '--') return parts;
    const next = body.indexOf(Buffer.concat([Buffer.from('\r\n'), marker]), head);
    const blank = body.indexOf('\r\n\r\n', head);
    if (next < 0 || blank < 0 || blank > next) return undefined;
    const part = readPart(body.toString('utf8', head, blank), body.subarray(blank + 4, next));
    if (part === undefined) return undefined;
    parts.push(part);
    start = next + 2;
  }
  return undefined;
}

function readPart(head: string, bytes: Buffer): MultipartPart | undefined {
  const disposition = head.split('\r\n').find((line) => /^content-disposition\s*:/i.test(line));
  const name = parameter(disposition, 'name');
  if (name === undefined) return undefined;
  const fileName = parameter(disposition, 'filename');
  return { name, bytes, ...(fileName === undefined ? {} : { fileName }) };
}

function parameter(line: string | undefined, name: string): string | undefined {
  return new RegExp(`[;\\s]${name}="((?:[^"\\\\]|\\\\.)*)"`, 'i').exec(line ?? '')?.[1];
}
