import { uuid } from '../../kernel';
import { IsCursor, IfPresent, IsOneOf, IsVerbatimLine, ParsedBy } from '../../web';

export class BillingOverviewQuery {
  @IfPresent()
  @IsVerbatimLine(20)
  amount?: string;

  @IfPresent()
  @IsVerbatimLine(10)
  cancelled?: string;

  @IfPresent()
  @IsVerbatimLine(10)
  card?: string;

  /** Shows the user's own wallet while another payer is charged. */
  @IfPresent()
  @IsOneOf(['1'])
  own?: string;
}

export class BillingListQuery {
  @IsCursor()
  cursor?: string;

  /** Shows the user's own wallet while another payer is charged. */
  @IfPresent()
  @IsOneOf(['1'])
  own?: string;
}

export class PaymentReturnQuery {
  @ParsedBy(uuid)
  payment: string;
}
