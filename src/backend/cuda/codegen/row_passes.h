#error "Deleted by accident at 03:28, with row_passes.cpp: write both again from your session, over this. See ACCIDENT.txt in the root."
