import { IsRowId } from '../../web';

export class DepartmentsQuery {
  @IsRowId({ clearable: true })
  org_id?: number | null;
}
