import {
  IsIn,
  IsOptional,
  IsUUID,
  Length,
  MaxLength,
  IsCursor,
  IfPresent,
  IsUserReference,
  IsVerbatimLine,
  IsWholeNumber,
  Trim,
  type UserReference,
} from '../../web';

export class BillingAdminQuery {
  /** Email address, user number, or a payment's id here or at the processor. */
  @IfPresent()
  @IsVerbatimLine(254)
  q?: string;

  /** Number of days to compare with the processor's list of payments. */
  @IsWholeNumber(1, 999, { optional: true })
  reconcile?: number;

  @IsCursor()
  cursor?: string;

  /** Cursor of the quarantined events list. */
  @IsCursor()
  events?: string;
}

class ReasonedOperationForm {
  @Trim()
  @Length(3, 500)
  reason: string;

  @IsUUID()
  token: string;
}

export class RefundForm extends ReasonedOperationForm {
  /** Amount in US dollars; defaults to the full remaining amount. */
  @IsOptional()
  @MaxLength(20)
  amount?: string;
}

export class AdjustForm extends ReasonedOperationForm {
  @IsUserReference()
  user_id?: UserReference | null;

  @MaxLength(20)
  amount: string;

  @IsIn(['credit', 'debit'])
  direction: 'credit' | 'debit';
}

export class ResolveForm {
  @Trim()
  @Length(3, 500)
  reason: string;

  @IsIn(['retry', 'dismiss'])
  how: 'retry' | 'dismiss';
}
