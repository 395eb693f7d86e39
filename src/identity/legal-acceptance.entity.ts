import { CreateDateColumn, Entity, PrimaryColumn } from 'typeorm';

@Entity('legal_acceptance')
export class LegalAcceptance {
  @PrimaryColumn('integer', { name: 'user_id', primaryKeyConstraintName: 'legal_acceptance_pkey' })
  userId: number;

  @PrimaryColumn('text', { primaryKeyConstraintName: 'legal_acceptance_pkey' })
  version: string;

  @CreateDateColumn({ name: 'accepted_at', type: 'timestamptz' })
  acceptedAt: Date;
}
