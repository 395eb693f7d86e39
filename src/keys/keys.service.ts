import { Injectable } from '@nestjs/common';
import type { Ownership } from '../identity';
import { Settings, type Tx } from '../platform';
import { ApiKey, type KeyKind } from './api-key.entity';
import { hashKey, makeKey } from './key-text';

export interface NewKey extends Ownership {
  readonly kind: KeyKind;
  readonly name: string;
  /** Who made it, in words that stay true: `root key`, `user 12`, `first boot`. */
  readonly createdBy: string;
  readonly allowedModels?: readonly string[] | null;
  readonly allowedRegions?: readonly string[] | null;
  readonly rateLimitRpm?: number | null;
  readonly expiresAt?: Date | null;
  readonly metadata?: Readonly<Record<string, string>>;
}

export interface IssuedKey {
  readonly id: number;
  readonly publicId: string;
  /** The only time the secret exists outside its owner's hands. */
  readonly text: string;
  readonly createdAt: Date;
}

@Injectable()
export class KeysService {
  constructor(private readonly settings: Settings) {}

  async issue(tx: Tx, key: NewKey): Promise<IssuedKey> {
    const { publicId, text } = makeKey();
    const row = tx.getRepository(ApiKey).create({
      publicId,
      secretHash: hashKey(this.settings.keyPepper, text),
      kind: key.kind,
      name: key.name,
      userId: key.userId,
      organisationId: key.organisationId,
      departmentId: key.departmentId,
      projectId: key.projectId,
      allowedModels:
        key.allowedModels === undefined || key.allowedModels === null ? null : [...key.allowedModels],
      allowedRegions:
        key.allowedRegions === undefined || key.allowedRegions === null ? null : [...key.allowedRegions],
      rateLimitRpm: key.rateLimitRpm ?? null,
      expiresAt: key.expiresAt ?? null,
      metadata: { ...key.metadata },
      createdBy: key.createdBy,
    });
    await tx.getRepository(ApiKey).insert(row);
    return { id: row.id, publicId, text, createdAt: row.createdAt };
  }
}
