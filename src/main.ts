import 'reflect-metadata';
import { runService } from './boot/run-service';

void runService();
