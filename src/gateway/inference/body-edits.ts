/**
 * The caller's bytes with one top-level field added or replaced. The rest stays as it came, since parsing and
 * printing a large body again would cost more than sending it.
 */
export function withField(
  bytes: Buffer,
  body: Readonly<Record<string, unknown>>,
  name: string,
  value: unknown,
): Buffer {
  if (name in body) return Buffer.from(JSON.stringify({ ...body, [name]: value }));
  const open = bytes.indexOf('{');
  const rest = bytes.subarray(open + 1);
  const separator = Object.keys(body).length === 0 ? '' : ',';
  return Buffer.concat([Buffer.from(`{${JSON.stringify(name)}:${JSON.stringify(value)}${separator}`), rest]);
}
