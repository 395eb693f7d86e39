/** Stores answer in flat XML without attributes, whose few elements are read by name. */
export function elementsOf(xml: string, name: string): string[] {
  const found: string[] = [];
  for (const [, text = ''] of xml.matchAll(new RegExp(`<${name}(?:\\s[^>]*)?>([^]*?)</${name}>`, 'g')))
    found.push(text);
  return found;
}

export const textOf = (xml: string, name: string): string | undefined => {
  const [text] = elementsOf(xml, name);
  return text === undefined ? undefined : unescaped(text);
};

export const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

const named: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

const unescaped = (text: string): string =>
  text.replace(/&(?:#x([\da-f]{1,6})|#(\d{1,7})|(\w{2,4}));/gi, (whole, hex, decimal, name) => {
    if (name !== undefined) return named[String(name).toLowerCase()] ?? whole;
    const code = hex === undefined ? Number(decimal) : Number.parseInt(String(hex), 16);
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });

/** Names in lists come as in forms: a blank is a plus sign (`encoding-type=url`). */
export const nameIn = (text: string): string => {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
};
