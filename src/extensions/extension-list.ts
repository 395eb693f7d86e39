import { ExtensionRefused } from './extension-refused';

/** An entry of `EXTENSIONS`. */
export interface ListedExtension {
  /** Path or package name. */
  readonly from: string;
  /** Expected digest of the files; null if none is configured. */
  readonly sha256: string | null;
}

/** Parses a list such as `./extensions/cost-centres,@acme/ldap#sha256=…`. */
export const parseExtensionList = (text: string): ListedExtension[] =>
  text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')
    .map(parseExtensionEntry);

function parseExtensionEntry(entry: string): ListedExtension {
  const [from = '', condition, ...others] = entry.split('#');
  if (condition === undefined) return { from, sha256: null };
  const [, sha256] = /^sha256=([0-9a-f]{64})$/.exec(condition) ?? [];
  if (sha256 === undefined || others.length > 0)
    throw new ExtensionRefused(from, `"#${condition}" is not #sha256= with 64 hexadecimal digits`);
  return { from, sha256 };
}
