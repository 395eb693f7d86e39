import {
  IfPresent,
  IsLine,
  IsOneOf,
  IsRowId,
  IsUsdAmount,
  IsUserReference,
  type UserReference,
} from '../../web';
import { ChangeForm, AdminListQuery } from '../pages/admin.dto';

export class ProjectParams {
  @IsRowId()
  project_id: number;
}

export class MemberParams extends ProjectParams {
  @IsRowId()
  user_id: number;
}

export class ProjectListQuery extends AdminListQuery {
  @IsRowId({ clearable: true })
  org_id?: number | null;

  @IsOneOf(['active', 'archived'], { optional: true })
  state?: 'active' | 'archived' | null;
}

export class NewProjectForm {
  @IsLine(100)
  name: string;

  @IsRowId({ clearable: true })
  org_id?: number | null;

  @IsUsdAmount({ clearable: true })
  monthly_budget?: string | null;
}

export class ProjectForm extends ChangeForm {
  @IfPresent()
  @IsLine(100)
  name?: string;

  @IsUserReference()
  billing_user_id?: UserReference | null;

  @IsUsdAmount({ clearable: true })
  monthly_budget?: string | null;
}

export class MemberForm extends ChangeForm {
  @IsUserReference()
  user_id?: UserReference | null;
}
