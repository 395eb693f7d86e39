import { AutoForm } from '../../autorouter';
import { IsRowId } from '../../web';

export class OwnKeyAutoForm extends AutoForm {
  @IsRowId()
  key_id: number;
}
