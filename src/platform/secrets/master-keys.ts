import { hkdfSync } from 'node:crypto';

export interface MasterKey {
  /** Identifies the key that wrapped a record, without revealing anything about it. */
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

/** Keys that records can be wrapped with: the first one wraps, former ones only unwrap. */
export class MasterKeys {
  readonly current: MasterKey;
  readonly former: readonly MasterKey[];
  private readonly byId: ReadonlyMap<string, MasterKey>;

  constructor(keys: readonly [MasterKey, ...MasterKey[]]) {
    [this.current, ...this.former] = keys;
    this.byId = new Map(keys.map((key) => [key.id, key]));
  }

  /** Parses the setting: the current key, then former ones, separated by commas. */
  static parse(setting: string): MasterKeys {
    const [current = '', ...former] = setting.split(',').map((text) => text.trim());
    return new MasterKeys([masterKeyOf(current), ...former.filter((text) => text !== '').map(masterKeyOf)]);
  }

  find(id: string): MasterKey | undefined {
    return this.byId.get(id);
  }
}
