import { join } from 'node:path';
import { projectFolder } from '../../test/system/program';

export const clientsFolder = join(projectFolder, 'proofs', 'clients');
