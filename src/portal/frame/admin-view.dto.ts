import { IsOneOf, IsRowId, IsVerbatimLine } from '../../web';

export class AdminModeForm {
  /** Toggles the view if absent. */
  @IsOneOf(['on', 'off'], { optional: true })
  admin_mode?: 'on' | 'off';

  @IsVerbatimLine(2_000, { optional: true })
  next?: string;
}

export class AdminViewOrganisationForm {
  /** Empty for all organisations. */
  @IsRowId({ clearable: true })
  org_id?: number | null;

  /** Legacy parameter: the organisation's slug. */
  @IsVerbatimLine(63, { optional: true })
  domain?: string;

  @IsVerbatimLine(2_000, { optional: true })
  next?: string;
}
