import { Column, CreateDateColumn, Entity, PrimaryColumn } from 'typeorm';

@Entity('passkey')
export class Passkey {
  /** The device names it like this; it is unique among all devices. */
  @PrimaryColumn('bytea', { name: 'credential_id', primaryKeyConstraintName: 'passkey_pkey' })
  credentialId: Buffer;

  /** Lists and forms call it by this id. */
  @Column('uuid', { name: 'public_id' })
  publicId: string;

  @Column('integer', { name: 'user_id' })
  userId: number;

  /** Devices know the person by this handle: random, and the same in all passkeys of one person. */
  @Column('bytea', { name: 'user_handle' })
  userHandle: Buffer;

  @Column('bytea', { name: 'public_key' })
  publicKey: Buffer;

  /** It is the count of the last signature. Devices that count never go back; those that do not count say 0. */
  @Column('bigint', { name: 'sign_count' })
  signCount: string;

  @Column('text', { array: true })
  transports: string[];

  @Column('text')
  name: string;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;

  @Column('timestamptz', { name: 'last_used_at', nullable: true })
  lastUsedAt: Date | null;
}
