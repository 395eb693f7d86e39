import { IfPresent, IsDay, IsOneOf, IsRowId } from '../../web';

export class StatementSpanQuery {
  @IsDay({ optional: true })
  from?: string;

  /** Last day, inclusive. */
  @IsDay({ optional: true })
  to?: string;

  /** Shows the user's own wallet while another payer is charged. */
  @IfPresent()
  @IsOneOf(['1'])
  own?: string;
}

export class StatementFileQuery extends StatementSpanQuery {
  /** Another wallet, for those allowed to read its documents. */
  @IfPresent()
  @IsRowId()
  wallet?: number;
}
