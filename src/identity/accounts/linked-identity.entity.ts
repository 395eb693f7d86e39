import { Column, CreateDateColumn, Entity, PrimaryColumn } from 'typeorm';

@Entity('linked_identity')
export class LinkedIdentity {
  @PrimaryColumn('text', { primaryKeyConstraintName: 'linked_identity_pkey' })
  issuer: string;

  @PrimaryColumn('text', { primaryKeyConstraintName: 'linked_identity_pkey' })
  subject: string;

  @Column('integer', { name: 'user_id' })
  userId: number;

  /** As the provider called it when it was linked: for people to recognise, never to find an account by. */
  @Column('text')
  email: string;

  @CreateDateColumn({ name: 'linked_at', type: 'timestamptz' })
  linkedAt: Date;

  @Column('timestamptz', { name: 'last_used_at', default: () => 'now()' })
  lastUsedAt: Date;
}
