import { ExtensionRefused } from './extension-refused';

/** An entry of `EXTENSIONS`. */
export interface ListedExtension {
  /** A path, or the name of a package. */
  readonly from: string;
  /** The digest that its files must have; null where none is asked for. */
  readonly sha256: string | null;
}

/** Such as `./extensions/cost-centres,@acme/ldap#sha256=…`. */
export const listedExtensions = (text: string): ListedExtension[] =>
  text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')
    .map(listedExtension);

function listedExtension(entry: string): ListedExtension {
  const [from = '', condition, ...others] = entry.split('#');
  if (condition === undefined) return { from, sha256: null };
  const [, sha256] = /^sha256=([0-9a-f]{64})$/.exec(condition) ?? [];
  if (sha256 === undefined || others.length > 0)
    throw new ExtensionRefused(from, `"#${condition}" is not #sha256= with 64 hexadecimal digits`);
  return { from, sha256 };
}
