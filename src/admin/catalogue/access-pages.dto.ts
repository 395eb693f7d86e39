import { IsCursor, IsFilterText, IsRowId } from '../../web';

export class AccessQuery {
  @IsRowId({ optional: true })
  org_id?: number;

  @IsRowId({ optional: true })
  dept_id?: number;

  @IsFilterText()
  q?: string;

  @IsCursor()
  cursor?: string;
}
