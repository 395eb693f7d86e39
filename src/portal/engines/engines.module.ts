import { Module } from '@nestjs/common';
import { WebModule } from '../../web';
import { AutorouterController } from './autorouter.controller';
import { QualitativeController } from './qualitative.controller';

/** The pages of engines that choose and judge; both say what is on in this version. */
@Module({ imports: [WebModule], controllers: [AutorouterController, QualitativeController] })
export class EnginePagesModule {}
