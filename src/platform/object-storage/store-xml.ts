/** Stores respond in flat XML without attributes, whose few elements are read by name. */
export function elementsOf(xml: string, name: string): string[] {
  const texts: string[] = [];
  for (const [, text = ''] of xml.matchAll(new RegExp(`<${name}(?:\\s[^>]*)?>([^]*?)</${name}>`, 'g')))
    texts.push(text);
  return texts;
}

export const textOf = (xml: string, name: string): string | undefined => {
  const [text] = elementsOf(xml, name);
  return text === undefined ? undefined : unescapeXml(text);
};

export const escapeXml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

const namedEntities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

const unescapeXml = (text: string): string =>
  text.replace(/&(?:#x([\da-f]{1,6})|#(\d{1,7})|(\w{2,4}));/gi, (match, hex, decimal, name) => {
    if (name !== undefined) return namedEntities[String(name).toLowerCase()] ?? match;
    const code = hex === undefined ? Number(decimal) : Number.parseInt(String(hex), 16);
    return code <= 0x10ffff ? String.fromCodePoint(code) : match;
  });

/** Names in lists are form-encoded: a plus sign is a space (`encoding-type=url`). */
export const decodeName = (text: string): string => {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
};
