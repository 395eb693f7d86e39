import { Column, CreateDateColumn, Entity, PrimaryColumn } from 'typeorm';

@Entity('second_factor')
export class SecondFactor {
  @PrimaryColumn('integer', { name: 'user_id', primaryKeyConstraintName: 'second_factor_pkey' })
  userId: number;

  @Column('bytea')
  secret: Buffer;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;

  /** Null until a first code has shown that the device knows the secret. */
  @Column('timestamptz', { name: 'enabled_at', nullable: true })
  enabledAt: Date | null;

  /** Step of the last accepted code: each code works once. */
  @Column('bigint', { name: 'last_step', default: '0' })
  lastStep: string;
}

@Entity('recovery_code')
export class RecoveryCode {
  @PrimaryColumn('integer', { name: 'user_id', primaryKeyConstraintName: 'recovery_code_pkey' })
  userId: number;

  @PrimaryColumn('bytea', { name: 'code_hash', primaryKeyConstraintName: 'recovery_code_pkey' })
  codeHash: Buffer;
}
