import { Column, Entity, PrimaryColumn } from 'typeorm';

@Entity('attempt_throttle')
export class AttemptCount {
  /** Hashed, so that addresses of people without an account are not stored. */
  @PrimaryColumn('bytea', { name: 'key_hash', primaryKeyConstraintName: 'attempt_throttle_pkey' })
  keyHash: Buffer;

  @Column('integer')
  attempts: number;

  @Column('timestamptz', { name: 'last_at' })
  lastAt: Date;

  @Column('timestamptz', { name: 'blocked_until', nullable: true })
  blockedUntil: Date | null;
}
