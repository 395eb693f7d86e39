import { IsOptional, IsString, MaxLength, IsCheckbox, IsLine } from '../../web';
import { FromPage } from './catalogue.dto';

export class TakeDifferencesForm extends FromPage {
  @IsLine(128)
  model: string;

  /** Provider's name of the model; a model can have several there. */
  @IsLine(256)
  upstream_model: string;

  /** Also applies values that lower the hold for requests. */
  @IsOptional()
  @IsCheckbox()
  lower?: boolean;

  /** Version of the displayed differences; without one, all current differences are applied. */
  @IsOptional()
  @IsString()
  @MaxLength(64)
  version?: string;
}
