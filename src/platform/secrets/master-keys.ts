import { hkdfSync } from 'node:crypto';

export interface MasterKey {
  /** Says which key wrapped a record, and nothing about the key. */
  readonly id: string;
  readonly key: Buffer;
}

const ID_BYTES = 6;
const KEY_BYTES = 32;

function derive(secret: string, purpose: string, length: number): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, 'switchboard', purpose, length));
}

export function masterKeyOf(secret: string): MasterKey {
  return {
    id: derive(secret, 'master key id', ID_BYTES).toString('base64url'),
    key: derive(secret, 'master key', KEY_BYTES),
  };
}

/** The keys that records may be wrapped with: the first one wraps, the others are former ones and only read. */
export class MasterKeys {
  readonly current: MasterKey;
  readonly former: readonly MasterKey[];
  private readonly byId: ReadonlyMap<string, MasterKey>;

  constructor(keys: readonly [MasterKey, ...MasterKey[]]) {
    [this.current, ...this.former] = keys;
    this.byId = new Map(keys.map((key) => [key.id, key]));
  }

  /** The setting has them in this order: the current key, then former ones, with commas between them. */
  static parse(setting: string): MasterKeys {
    const [current = '', ...former] = setting.split(',').map((text) => text.trim());
    return new MasterKeys([masterKeyOf(current), ...former.filter((text) => text !== '').map(masterKeyOf)]);
  }

  find(id: string): MasterKey | undefined {
    return this.byId.get(id);
  }
}
