import { IsCursor, IsFilterText, IsOptional, IsRowId, IsString, IsUsdAmount, MaxLength } from '../../web';

export class ChangeForm {
  @IsRowId({ clearable: true })
  version?: number | null;

  @IsOptional()
  @IsString()
  @MaxLength(500)
  reason?: string;
}

/** Raises a budget until an instant; an empty amount ends the current raise. */
export class BudgetRaiseForm extends ChangeForm {
  @IsUsdAmount({ clearable: true })
  raise_amount?: string | null;

  @IsOptional()
  @IsString()
  @MaxLength(40)
  raise_until?: string;
}

export class AdminListQuery {
  @IsCursor()
  cursor?: string;

  @IsFilterText()
  q?: string;
}
