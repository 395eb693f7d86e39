import { Column, CreateDateColumn, Entity, PrimaryColumn } from 'typeorm';

@Entity('passkey')
export class Passkey {
  /** Id from the device, unique among all devices. */
  @PrimaryColumn('bytea', { name: 'credential_id', primaryKeyConstraintName: 'passkey_pkey' })
  credentialId: Buffer;

  @Column('uuid', { name: 'public_id' })
  publicId: string;

  @Column('integer', { name: 'user_id' })
  userId: number;

  /** Random handle by which devices know the user; the same in all passkeys of a user. */
  @Column('bytea', { name: 'user_handle' })
  userHandle: Buffer;

  @Column('bytea', { name: 'public_key' })
  publicKey: Buffer;

  /** Count of the last signature. Devices that count never go back; those that do not count report 0. */
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
